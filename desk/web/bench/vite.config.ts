import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  build: { target: "esnext", outDir: "dist", modulePreload: false, chunkSizeWarningLimit: 1000 },
});
