// Builds the pages for browsers: the GraphQL IDE in dist/assets, and in the mode reader the reader of the OpenAPI document in dist/reader.
// Each has one script, one style sheet and the licences of what is in them, compressed by gzip, which is how the server embeds and sends
// them.
import { join } from 'node:path';
import { defineConfig } from 'vite';
import { compressed, licensed } from '../../../../internal/webfile/bundling.js';

// fontless takes fonts out of style sheets, where they stand as data: they are most of it, and systems have some.
const fontless = {
  name: 'fontless',
  enforce: 'pre',
  transform(code, id) {
    return id.endsWith('.css') ? { code: code.replace(/@font-face\s*\{[^}]*\}/g, ''), map: null } : null;
  },
};

// Packages that ship no licence file, and the packages of the same authors under the same licence that do.
const licensedAs = {
  '@graphiql/plugin-doc-explorer': 'graphiql',
  '@graphiql/plugin-history': 'graphiql',
  'react-compiler-runtime': 'react',
  'react-remove-scroll-bar': 'react-remove-scroll',
  'toggle-selection': 'copy-to-clipboard',
};

const pages = {
  production: { input: 'main.js', outDir: 'dist/assets', script: 'ide' },
  reader: { input: 'reader.js', outDir: 'dist/reader', script: 'reader' },
};

export default defineConfig(({ mode }) => ({
  plugins: [fontless, licensed(join(import.meta.dirname, 'node_modules'), licensedAs), compressed],
  build: {
    outDir: pages[mode].outDir,
    emptyOutDir: true,
    cssCodeSplit: false,
    modulePreload: false,
    reportCompressedSize: false,
    target: 'es2022',
    rolldownOptions: {
      input: pages[mode].input,
      output: {
        codeSplitting: false,
        entryFileNames: `${pages[mode].script}-[hash].js`,
        assetFileNames: '[name]-[hash][extname]',
      },
    },
  },
}));
