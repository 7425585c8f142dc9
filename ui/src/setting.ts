// A setting of a server: how it is named, and whether two are one.

export interface Setting {
  workers: number;
  threads: number;
}

/** As every report names it: `3 x 5`, or `3` where there are no threads to choose. */
export function nameOf({ workers, threads }: Setting, session: { has_threads: boolean }): string {
  return session.has_threads ? `${workers} x ${threads}` : String(workers);
}

export function isSame(a: Setting | null, b: Setting | null): boolean {
  return a !== null && b !== null && a.workers === b.workers && a.threads === b.threads;
}
