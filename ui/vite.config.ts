// One classic script and one style sheet: the program puts both into one HTML document, where
// nothing may be loaded from anywhere. So no modules, no chunks, no assets.

import { defineConfig } from "vite";

export default defineConfig({
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  define: { "process.env.NODE_ENV": '"production"' },
  build: {
    target: "es2022",
    outDir: "dist",
    emptyOutDir: true,
    cssTarget: "chrome123",
    assetsInlineLimit: Number.MAX_SAFE_INTEGER,
    lib: {
      entry: "src/main.tsx",
      formats: ["iife"],
      name: "sweetspot",
      fileName: () => "page.js",
      cssFileName: "page",
    },
  },
});
