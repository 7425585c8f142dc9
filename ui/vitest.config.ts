// Unit tests need nothing; browser tests need `npm run build` and a Chromium (CHROMIUM says where).

import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts", "test/**/*.test.tsx"],
    // One browser at a time: machines that test this have two cores.
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
