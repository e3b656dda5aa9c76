import { testVector } from "@selvedge/testing/suites";
import { InMemoryVector } from "./in-memory-vector.ts";

testVector("InMemoryVector", async () => {
  const vector = new InMemoryVector();
  return { vector, close: () => vector.close() };
});
