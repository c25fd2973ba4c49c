// Builds the pages for browsers: the GraphQL IDE in dist/assets, and in the mode reader the reader of the OpenAPI document in dist/reader.
// Each has one script, one style sheet and the licences of what is in them, compressed by gzip, which is how the server embeds and sends
// them.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { defineConfig } from 'vite';

// fontless takes fonts out of style sheets, where they stand as data: they are most of it, and systems have some.
const fontless = {
  name: 'fontless',
  enforce: 'pre',
  transform(code, id) {
    return id.endsWith('.css') ? { code: code.replace(/@font-face\s*\{[^}]*\}/g, ''), map: null } : null;
  },
};

// packageOf is the directory of the package that a module belongs to, undefined for our own files.
function packageOf(id) {
  const path = id.replace(/^\0+/, '').split('?')[0];
  if (!path.includes('/node_modules/')) return undefined;
  let dir = dirname(path);
  while (!existsSync(join(dir, 'package.json')) || !describe(dir).version) dir = dirname(dir);
  return dir;
}

// Packages that ship no licence file, and the packages of the same authors under the same licence that do.
const licensedAs = {
  '@graphiql/plugin-doc-explorer': 'graphiql',
  '@graphiql/plugin-history': 'graphiql',
  'react-compiler-runtime': 'react',
  'react-remove-scroll-bar': 'react-remove-scroll',
  'toggle-selection': 'copy-to-clipboard',
};

const describe = (dir) => JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'));
const licenceFiles = (dir) => readdirSync(dir).filter((name) => /^(licen[cs]e|copying|notice)([.-].*)?$|^swagger-ui-es-bundle\.js\.license\.txt$/i.test(name)).sort();

// licenceOf is what the licence files of a package say.
function licenceOf(dir) {
  const { name, version, license } = describe(dir);
  let holder = dir;
  if (licenceFiles(dir).length === 0 && licensedAs[name]) {
    holder = join(import.meta.dirname, 'node_modules', licensedAs[name]);
    if (describe(holder).license !== license) throw new Error(`${name} is not under the licence of ${licensedAs[name]}`);
  }
  const texts = licenceFiles(holder).map((file) => readFileSync(join(holder, file), 'utf8').trim());
  if (texts.length === 0) throw new Error(`${name} has no licence file`);
  return `${name} ${version} (${license})\n\n${texts.join('\n\n')}\n`;
}

// licensed adds the licences of all packages that the bundle has code or styles of.
const licensed = {
  name: 'licensed',
  generateBundle() {
    const dirs = new Set();
    for (const id of this.getModuleIds()) {
      const dir = packageOf(id);
      if (dir) dirs.add(dir);
    }
    const source = [...dirs].sort().map(licenceOf).join(`\n${'-'.repeat(80)}\n\n`);
    this.emitFile({ type: 'asset', name: 'licences.txt', source });
  },
};

// compressed replaces each file of the bundle.
const compressed = {
  name: 'compressed',
  generateBundle: {
    order: 'post',
    handler(_, bundle) {
      for (const [name, file] of Object.entries(bundle)) {
        const source = gzipSync(file.type === 'chunk' ? file.code : file.source, { level: 9 });
        delete bundle[name];
        this.emitFile({ type: 'asset', fileName: `${name}.gz`, source });
      }
    },
  },
};

const pages = {
  production: { input: 'main.js', outDir: 'dist/assets', script: 'ide' },
  reader: { input: 'reader.js', outDir: 'dist/reader', script: 'reader' },
};

export default defineConfig(({ mode }) => ({
  plugins: [fontless, licensed, compressed],
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
