import { defineConfig } from "vite";
import { licences } from "./licences.ts";

// One page, one script, one style sheet. Nothing is inlined, for the page's
// policy allows no inline code; nothing is loaded from elsewhere.
export default defineConfig({
  base: "/",
  publicDir: "public",
  plugins: [licences()],
  build: {
    outDir: "../internal/face/web/dist",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: false,
    sourcemap: false,
    reportCompressedSize: true,
  },
  server: { host: "127.0.0.1", proxy: { "/api": "http://127.0.0.1:8765", "/health": "http://127.0.0.1:8765" } },
});
