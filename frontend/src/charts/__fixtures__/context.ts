/** A canvas's context for tests, which draws nothing and keeps what it was told to. */
export type Call = readonly [name: string, ...given: unknown[]];

export function fakeContext(calls: Call[]): CanvasRenderingContext2D {
  return new Proxy({} as CanvasRenderingContext2D, {
    get: (_, name) =>
      name === "measureText" ? () => ({ width: 0 }) : (...given: unknown[]) => calls.push([String(name), ...given]),
    set: () => true,
  });
}
