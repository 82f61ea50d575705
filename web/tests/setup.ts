// Browsers have it, Node has it from version 22 on.
Promise.withResolvers ??= function <T>() {
  let resolve!: (value: T | PromiseLike<T>) => void
  let reject!: (reason?: unknown) => void
  const promise = new Promise<T>((a, b) => ([resolve, reject] = [a, b]))
  return { promise, resolve, reject }
}
