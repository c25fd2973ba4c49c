// Builds the desk into dist/: one script and one style sheet that the page begins with (desk-…), the parts that are loaded when a view needs
// them, and the licences of what is in them, all compressed by gzip, which is how the server embeds and sends them.
import { join } from 'node:path';
import { defineConfig } from 'vite';
import { compressed, licensed } from '../../internal/webfile/bundling.js';

// Packages that ship no licence file, and the packages of the same authors under the same licence that do.
const licensedAs = { 'client-only': 'react' };

export default defineConfig({
  base: './',
  plugins: [licensed(join(import.meta.dirname, 'node_modules'), licensedAs), compressed],
  build: {
    outDir: 'dist',
    emptyOutDir: false, // .gitignore stays; the script build removes the rest
    modulePreload: false,
    cssCodeSplit: false,
    reportCompressedSize: false,
    target: 'es2022',
    rolldownOptions: {
      input: { desk: 'src/main.tsx' },
      output: {
        entryFileNames: 'desk-[hash].js',
        chunkFileNames: 'part-[name]-[hash].js',
        assetFileNames: (asset) => (asset.names[0]?.endsWith('.css') ? 'desk-[hash][extname]' : '[name]-[hash][extname]'),
      },
    },
  },
  test: { include: ['src/**/*.test.ts'], testTimeout: 60_000 },
});
