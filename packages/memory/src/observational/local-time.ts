/** Returns a function that formats times as `2026-03-14 09:12`, in a time zone; in UTC if the zone is unknown. */
export function toLocalTime(timeZone: string): (date: Date) => string {
  const format = formatter(timeZone) ?? formatter("UTC")!;
  return (date) => {
    if (Number.isNaN(date.getTime())) return "unknown time";
    const parts = Object.fromEntries(format.formatToParts(date).map(({ type, value }) => [type, value]));
    return `${parts["year"]?.padStart(4, "0")}-${parts["month"]}-${parts["day"]} ${parts["hour"]}:${parts["minute"]}`;
  };
}

function formatter(timeZone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat("en-US", {
      timeZone,
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      hourCycle: "h23",
    });
  } catch {
    return undefined;
  }
}
