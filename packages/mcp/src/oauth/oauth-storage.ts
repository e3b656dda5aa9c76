/** Where a provider keeps its registration, its tokens and a flow that has begun. Values are secrets. */
export interface OAuthStorage {
  get(key: string): Promise<string | undefined> | string | undefined;
  set(key: string, value: string): Promise<void> | void;
  delete(key: string): Promise<void> | void;
}

/** Forgets everything when the process ends. */
export class InMemoryOAuthStorage implements OAuthStorage {
  readonly #values = new Map<string, string>();

  get(key: string): string | undefined {
    return this.#values.get(key);
  }

  set(key: string, value: string): void {
    this.#values.set(key, value);
  }

  delete(key: string): void {
    this.#values.delete(key);
  }
}
