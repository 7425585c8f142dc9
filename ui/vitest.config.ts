// Unit tests need nothing; browser tests need `npm run build` and a Chromium (CHROMIUM says where).

import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts", "test/**/*.test.tsx"],
    // Machines that test this have two cores, and a browser waits as much as it draws.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
