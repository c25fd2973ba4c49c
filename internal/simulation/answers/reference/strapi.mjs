// Starts the reference on a copy of a Strapi project tree with a fresh database. When it is ready it prints one JSON line
// {base, tokens, app}, where app is the directory of the running copy. SIGTERM ends it and removes the copy.
//
//	node strapi.mjs TREE PORT [--import ARCHIVE]
//
// STRAPI_APP names the directory with the installed reference (default: /tmp/reference).
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const [tree, port] = process.argv.slice(2);
const archive = process.argv.includes('--import') ? path.resolve(process.argv[process.argv.indexOf('--import') + 1]) : '';
const installed = process.env.STRAPI_APP || '/tmp/reference';
const app = fs.mkdtempSync(path.join(os.tmpdir(), 'strapi-tree-'));
const write = (name, text) => {
	fs.mkdirSync(path.dirname(path.join(app, name)), { recursive: true });
	fs.writeFileSync(path.join(app, name), text);
};

fs.cpSync(tree, app, { recursive: true });
fs.symlinkSync(path.join(installed, 'node_modules'), path.join(app, 'node_modules'));
fs.copyFileSync(path.join(installed, 'package.json'), path.join(app, 'package.json'));
fs.mkdirSync(path.join(app, 'public/uploads'), { recursive: true });
for (const api of fs.readdirSync(path.join(app, 'src/api'))) {
	for (const name of fs.readdirSync(path.join(app, 'src/api', api, 'content-types'))) {
		for (const [folder, kind] of [['controllers', 'Controller'], ['services', 'Service'], ['routes', 'Router']]) {
			write(`src/api/${api}/${folder}/${name}.js`, `module.exports = require('@strapi/strapi').factories.createCore${kind}('api::${api}.${name}');`);
		}
	}
}
write('config/server.js', `module.exports = { host: '127.0.0.1', port: ${port}, app: { keys: ['a', 'b'] } };`);
// LIKE distinguishes case, as on PostgreSQL.
write('config/database.js', `module.exports = { connection: { client: 'sqlite', connection: { filename: ${JSON.stringify(path.join(app, 'data.db'))} },
	useNullAsDefault: true, pool: { afterCreate: (c, done) => { c.pragma('case_sensitive_like = ON'); done(null, c); } } } };`);
write('config/admin.js', `module.exports = { auth: { secret: 'a secret of thirty-two characters' }, apiToken: { salt: 'salt' }, transfer: { token: { salt: 'salt' } },
	serveAdminPanel: false, secrets: { encryptionKey: '0123456789abcdef0123456789abcdef' } };`);
write('config/middlewares.js', `module.exports = ['strapi::errors', 'strapi::security', 'strapi::cors', 'strapi::poweredBy', 'strapi::query', 'strapi::body',
	'strapi::session', 'strapi::favicon', 'strapi::public'];`);
write('src/index.js', `module.exports = { register() {}, async bootstrap({ strapi }) {
	const tokens = {};
	for (const [name, type] of [['full', 'full-access'], ['readonly', 'read-only']]) {
		tokens[name] = (await strapi.service('admin::api-token').create({ name: name + ' ' + Date.now(), type, description: '', lifespan: null })).accessKey;
	}
	require('fs').writeFileSync(__dirname + '/../tokens.json', JSON.stringify(tokens));
	const locales = strapi.plugin('i18n').service('locales');
	const present = (await locales.find()).map((l) => l.code);
	for (const code of ['en', 'fr', 'de']) if (!present.includes(code)) await locales.create({ code, name: code });
} };`);
write('run.js', `const { createStrapi } = require('@strapi/strapi');
createStrapi({ appDir: __dirname, distDir: __dirname, serveAdminPanel: false }).start().then(() => console.log('READY')).catch((e) => { console.error(e); process.exit(1); });`);

const env = { ...process.env, NODE_ENV: 'production', STRAPI_TELEMETRY_DISABLED: 'true' };
const end = (code) => {
	fs.rmSync(app, { recursive: true, force: true });
	process.exit(code);
};
if (archive) {
	const loaded = spawnSync('node', ['node_modules/@strapi/strapi/bin/strapi.js', 'import', '-f', archive, '--force'], { cwd: app, env, encoding: 'utf8' });
	process.stderr.write(loaded.stdout + loaded.stderr);
	if (loaded.status !== 0) end(1);
}
const server = spawn('node', ['run.js'], { cwd: app, env });
let log = '';
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => { server.kill('SIGKILL'); end(0); });
server.on('exit', (code) => { process.stderr.write(log.slice(-4000)); end(code ?? 1); });
const seen = (data) => {
	log = (log + data).slice(-200000);
	if (process.env.STRAPI_LOG) process.stderr.write(data);
	if (String(data).includes('READY')) {
		console.log(JSON.stringify({ base: `http://127.0.0.1:${port}`, tokens: JSON.parse(fs.readFileSync(path.join(app, 'tokens.json'))), app }));
	}
};
server.stdout.on('data', seen);
server.stderr.on('data', seen);
