// What the builds of all pages share: plugins of Vite that collect the licences of what is bundled, and that compress each file by gzip, which
// is how the server embeds and sends it.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

// packageOf is the directory of the package that a module belongs to, undefined for our own files.
function packageOf(id) {
  const path = id.replace(/^\0+/, '').split('?')[0];
  if (!path.includes('/node_modules/')) return undefined;
  let dir = dirname(path);
  while (!existsSync(join(dir, 'package.json')) || !describe(dir).version) dir = dirname(dir);
  return dir;
}

const describe = (dir) => JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'));
const licenceFiles = (dir) => readdirSync(dir).filter((name) => /^(licen[cs]e|copying|notice)([.-].*)?$|^swagger-ui-es-bundle\.js\.license\.txt$/i.test(name)).sort();

// licenceOf is what the licence files of a package say. modules is the folder of the packages.
function licenceOf(dir, modules, licensedAs) {
  const { name, version, license } = describe(dir);
  let holder = dir;
  if (licenceFiles(dir).length === 0 && licensedAs[name]) {
    holder = join(modules, licensedAs[name]);
    if (describe(holder).license !== license) throw new Error(`${name} is not under the licence of ${licensedAs[name]}`);
  }
  const texts = licenceFiles(holder).map((file) => readFileSync(join(holder, file), 'utf8').trim());
  if (texts.length === 0) throw new Error(`${name} has no licence file`);
  return `${name} ${version} (${license})\n\n${texts.join('\n\n')}\n`;
}

// licensed adds the licences of all packages that the bundle has code or styles of. licensedAs names, for packages that ship no licence file,
// packages of the same authors under the same licence that do.
export const licensed = (modules, licensedAs = {}) => ({
  name: 'licensed',
  generateBundle() {
    const dirs = new Set();
    for (const id of this.getModuleIds()) {
      const dir = packageOf(id);
      if (dir) dirs.add(dir);
    }
    const source = [...dirs].sort().map((dir) => licenceOf(dir, modules, licensedAs)).join(`\n${'-'.repeat(80)}\n\n`);
    this.emitFile({ type: 'asset', name: 'licences.txt', source });
  },
});

// compressed replaces each file of the bundle.
export const compressed = {
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
