/** Converts every part of a stream. Does not read ahead, and forwards cancellation. */
export function mapStream<From, To>(
  stream: ReadableStream<From>,
  convert: (part: From) => To,
): ReadableStream<To> {
  const reader = stream.getReader();
  return new ReadableStream<To>(
    {
      pull: (controller) =>
        reader.read().then((result) => {
          if (result.done) controller.close();
          else controller.enqueue(convert(result.value));
        }),
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
