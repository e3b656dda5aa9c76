import { AgentError, showValue } from "../errors.ts";

/** The places for runs in a process. Actors that find none wait in line, in order of arrival. */
export class RunSlots<Address> {
  readonly #max: number;
  readonly #keyOf: (address: Address) => string;
  readonly #onTurn: (address: Address) => void;
  readonly #held = new Set<string>();
  readonly #line = new Map<string, Address>();

  /** `name` is that of the option. `onTurn` is called with an actor that got the place it waited for. */
  constructor(
    { max, name, keyOf }: { max: number; name: string; keyOf: (address: Address) => string },
    onTurn: (address: Address) => void,
  ) {
    if (!(max >= 1))
      throw new AgentError("invalid-argument", `${name} must be 1 or more, got ${showValue(max)}.`);
    this.#max = max;
    this.#keyOf = keyOf;
    this.#onTurn = onTurn;
  }

  get hasRoom(): boolean {
    return this.#held.size < this.#max;
  }

  isInLine(address: Address): boolean {
    return this.#line.size > 0 && this.#line.has(this.#keyOf(address));
  }

  enter(address: Address): boolean {
    const key = this.#keyOf(address);
    if (this.#held.has(key)) return true;
    if (this.hasRoom) this.#held.add(key);
    else if (!this.#line.has(key)) this.#line.set(key, address);
    return this.#held.has(key);
  }

  leave(address: Address): void {
    if (!this.#held.delete(this.#keyOf(address))) return;
    for (const [key, next] of this.#line) {
      if (!this.hasRoom) return;
      this.#line.delete(key);
      this.#held.add(key);
      this.#onTurn(next);
    }
  }

  /** Nothing begins any more: those in line learn it now. */
  close(): void {
    const waiting = [...this.#line.values()];
    this.#line.clear();
    for (const address of waiting) this.#onTurn(address);
  }
}
