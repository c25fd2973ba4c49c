// Fills a reference server with content over its API: every attribute of every type of its project, in three locales, with drafts
// that differ from what is published, documents that were never published or no longer are, relations of every kind set from
// either side, components within components, dynamic zones, files, users with roles and passwords, and permissions.
//
//	node fill.mjs READY [--documents N] [--files N] [--users N] [--seed N]
//
// READY is a file whose first line is what strapi.mjs printed. Everything is chosen by the seed, so the same seed fills two
// servers alike, except for ids and times. The password of user N is "password N".
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

import { files } from './files.mjs';
import { Random } from './random.mjs';
import { scalar } from './values.mjs';

const option = (name, fallback) => (process.argv.includes('--' + name) ? Number(process.argv[process.argv.indexOf('--' + name) + 1]) : fallback);
const ready = JSON.parse(fs.readFileSync(process.argv[2], 'utf8').split('\n')[0]);
const random = new Random(option('seed', 1));
const locales = ['en', 'fr', 'de'];
const refused = new Map(); // message → number of requests

async function call(method, route, body, token = ready.tokens.full) {
	const form = body instanceof FormData;
	const send = () => fetch(ready.base + route, {
		method,
		headers: { authorization: 'Bearer ' + token, ...(body && !form ? { 'content-type': 'application/json' } : {}) },
		body: form ? body : body && JSON.stringify(body),
	});
	const answer = await send().catch(send); // a server under load closes idle connections while a request is on its way
	const text = await answer.text();
	if (answer.ok) return text ? JSON.parse(text) : {};
	const why = `${method} ${route.replace(/[a-z0-9]{24}/g, ':id').replace(/\?.*/, '')} ${answer.status} ${text.replace(/"[a-z0-9]{24}\\"|id \d+|\d+}/g, "…").slice(0, 300)}`;
	refused.set(why, (refused.get(why) ?? 0) + 1);
	return null;
}

// Definitions, as the running project has them.

function definitions(app) {
	const types = [];
	const components = {};
	const read = (file) => JSON.parse(fs.readFileSync(file, 'utf8'));
	for (const api of fs.readdirSync(path.join(app, 'src/api'))) {
		for (const name of fs.readdirSync(path.join(app, 'src/api', api, 'content-types'))) {
			types.push({ uid: `api::${api}.${name}`, documents: [], ...read(path.join(app, 'src/api', api, 'content-types', name, 'schema.json')) });
		}
	}
	for (const category of fs.readdirSync(path.join(app, 'src/components'))) {
		for (const file of fs.readdirSync(path.join(app, 'src/components', category))) {
			components[`${category}.${path.parse(file).name}`] = read(path.join(app, 'src/components', category, file));
		}
	}
	const user = path.join(app, 'src/extensions/users-permissions/content-types/user/schema.json');
	return { types, components, user: fs.existsSync(user) ? read(user) : { attributes: {} } };
}

const { types, components, user: userType } = definitions(ready.app);
const byUID = Object.fromEntries(types.map((t) => [t.uid, t]));
const users = []; // {id, documentId}
const media = { images: [], files: [] }; // ids of uploaded files

const localized = (attribute) => attribute.pluginOptions?.i18n?.localized;
const chooseMedia = (attribute) => (attribute.allowedTypes?.includes('files') && random.chance(0.5) ? media.files : media.images);

// fields returns values for the scalars, components and files of a schema.
function fields(schema, keep = () => true, share = 0.8) {
	const data = {};
	for (const [name, attribute] of Object.entries(schema.attributes)) {
		if (!keep(attribute) || (!attribute.required && !random.chance(share))) continue;
		const value = fieldValue(attribute);
		if (value !== undefined) data[name] = value;
	}
	return data;
}

function fieldValue(attribute) {
	switch (attribute.type) {
		case 'relation':
			return undefined;
		case 'media':
			if (!attribute.multiple) return random.pick(chooseMedia(attribute));
			return random.sample([...media.images.slice(0, 40), ...(attribute.allowedTypes && !attribute.allowedTypes.includes('files') ? [] : media.files.slice(0, 40))], random.below(4));
		case 'component':
			if (!attribute.repeatable) return component(attribute.component);
			return random.times((attribute.min ?? 0) + random.below(4 - (attribute.min ?? 0)), () => component(attribute.component));
		case 'dynamiczone':
			return random.times(random.below(4), () => {
				const uid = random.pick(attribute.components);
				return { __component: uid, ...component(uid) };
			});
	}
	return scalar(random, attribute);
}

// component returns a component, with links to documents that exist by now.
function component(uid) {
	const schema = components[uid];
	const data = fields(schema, () => true, 0.75);
	for (const [name, attribute] of Object.entries(schema.attributes)) {
		if (attribute.type === 'relation' && random.chance(0.6)) data[name] = targets(attribute);
	}
	return data;
}

// targets chooses documents for a relation of a component or a document.
function targets(attribute) {
	const list = attribute.target === 'plugin::users-permissions.user' ? users : (byUID[attribute.target]?.documents ?? []);
	const many = attribute.relation.endsWith('Many');
	const ids = random.sample(list, many ? random.below(5) : 1).map((d) => d.documentId);
	return many ? { set: ids } : { set: ids.slice(0, 1) };
}

// links chooses what to write to the relations of a document. Sides that own a relation and sides that do not are written alike.
function links(type) {
	const data = {};
	for (const [name, attribute] of Object.entries(type.attributes)) {
		if (attribute.type !== 'relation' || !random.chance(0.45)) continue;
		// Over REST, morphToOne is written from the other side, and from types without drafts only.
		if (attribute.relation === 'morphToOne' || (attribute.morphBy && type.options.draftAndPublish)) continue;
		if (attribute.relation === 'morphToMany') data[name] = morph();
		else if (attribute.morphBy) data[name] = random.sample(byUID[attribute.target].documents, random.below(3)).map((d) => d.id);
		else data[name] = targets(attribute);
	}
	return data;
}

// morph chooses documents of any types that can show a polymorphic relation.
function morph() {
	const pointed = types.filter((t) => Object.values(t.attributes).some((a) => a.morphBy))
		.flatMap((t) => t.documents.filter((d) => d.published.includes('en')).map((d) => ({ id: d.id, __type: t.uid })));
	return random.sample(pointed, random.below(4));
}

// Steps of the filling.

async function upload(count) {
	const sharp = createRequire(fs.realpathSync(path.join(ready.app, 'package.json')))(fs.realpathSync(path.join(ready.app, 'node_modules')) + '/sharp');
	for (const file of await files(random, count, sharp)) {
		const form = new FormData();
		form.append('files', new Blob([file.content], { type: file.type }), file.name);
		form.append('fileInfo', JSON.stringify({ name: file.name, alternativeText: random.chance(0.5) ? 'Text of ' + file.name : '', caption: random.chance(0.3) ? 'Ünder ' + file.name : '' }));
		const answer = await call('POST', '/api/upload', form);
		if (answer) (file.type.startsWith('image/') && file.type !== 'image/svg+xml' ? media.images : media.files).push(answer[0].id);
	}
}

async function makeUsers(count) {
	await call('POST', '/api/users-permissions/roles', {
		name: 'Editor', description: 'Writes', type: 'editor',
		permissions: Object.fromEntries(types.slice(0, 2).map((t) => [t.uid.split('.')[0], { controllers: { [t.info.singularName]: { find: { enabled: true }, findOne: { enabled: true }, update: { enabled: true } } } }])),
	});
	const roles = (await call('GET', '/api/users-permissions/roles')).roles.filter((r) => r.type !== 'public');
	const own = Object.fromEntries(Object.entries(userType.attributes).filter(([, a]) => a.configurable !== false && a.type !== 'relation'));
	for (let n = 0; n < count; n++) {
		const body = { username: `user-${n}`, email: `user${n}@Example.org`.toLowerCase(), password: `password ${n}`, confirmed: n % 3 !== 1, blocked: n % 7 === 6, role: random.pick(roles).id, provider: 'local', ...fields({ attributes: own }) };
		const answer = await call('POST', '/api/users', body);
		if (answer) users.push(answer);
	}
}

function total(type) {
	if (type.kind === 'singleType') return 0;
	return type.options.draftAndPublish && type.pluginOptions?.i18n?.localized ? 3 : 1; // weights
}

async function create(type) {
	const status = type.options.draftAndPublish && random.chance(0.25) ? 'draft' : 'published';
	const answer = await call('POST', `/api/${type.info.pluralName}?status=${status}`, { data: fields(type) });
	if (answer) type.documents.push({ id: answer.data.id, documentId: answer.data.documentId, published: status === 'published' ? ['en'] : [] });
}

const route = (type, document) => (type.kind === 'singleType' ? `/api/${type.info.singularName}` : `/api/${type.info.pluralName}/${document.documentId}`);

async function update(type, document, locale, status, data) {
	const answer = await call('PUT', `${route(type, document)}?locale=${locale}&status=${status}`, { data });
	if (answer && status === 'published' && !document.published.includes(locale)) document.published.push(locale);
	return answer;
}

// relate writes the relations of a document, and places some of the targets by their neighbours.
async function relate(type, document) {
	const status = document.published.includes('en') ? random.pick(['published', 'published', 'draft']) : 'draft';
	const data = links(type);
	if (Object.keys(data).length === 0) return;
	await update(type, document, 'en', status, data);
	for (const [name, value] of Object.entries(data)) {
		const attribute = type.attributes[name];
		if (!attribute.relation.endsWith('Many') || attribute.relation.startsWith('morph') || value.set.length < 2 || !random.chance(0.4)) continue;
		const moved = value.set[value.set.length - 1];
		await update(type, document, 'en', status, { [name]: { connect: [{ documentId: moved, position: random.pick([{ start: true }, { before: value.set[0] }]) }] } });
	}
}

async function translate(type, document) {
	for (const locale of locales.slice(1)) {
		if (!random.chance(0.55)) continue;
		const status = random.chance(0.6) ? 'published' : 'draft';
		const data = fields(type, (a) => localized(a) || a.required);
		const linked = random.chance(0.4) ? links(type) : {};
		// A target that is not translated is refused.
		if (!(await update(type, document, locale, status, { ...data, ...linked }))) await update(type, document, locale, status, data);
	}
}

// change makes the draft of some published documents differ, publishes some of them again, and takes others back by the
// administrators' API.
async function change(type, document, admin) {
	const locale = random.pick(type.pluginOptions?.i18n?.localized ? [...document.published, 'en'] : ['en']);
	if (type.options.draftAndPublish && document.published.includes(locale)) {
		if (random.chance(0.35)) await update(type, document, locale, 'draft', { ...fields(type, (a) => !a.unique, 0.4), ...(links(type)) });
		else if (random.chance(0.2)) await update(type, document, locale, 'published', fields(type, (a) => !a.unique, 0.3));
		else if (random.chance(0.2) && type.kind !== 'singleType') await call('POST', `/content-manager/collection-types/${type.uid}/${document.documentId}/actions/unpublish?locale=${locale}`, {}, admin);
	} else if (random.chance(0.3)) {
		await update(type, document, locale, type.options.draftAndPublish ? 'draft' : 'published', fields(type, (a) => !a.unique, 0.4));
	}
}

async function administrator() {
	const answer = await call('POST', '/admin/register-admin', { firstname: 'Ad', lastname: 'Min', email: 'admin@example.org', password: 'Password1' });
	return answer?.data.token;
}

async function fill() {
	const started = Date.now();
	const admin = await administrator();
	await upload(option('files', 200));
	await makeUsers(option('users', 30));
	const collections = types.filter((t) => t.kind === 'collectionType');
	const weight = collections.reduce((sum, t) => sum + total(t), 0);
	const wanted = Object.fromEntries(collections.map((t) => [t.uid, Math.round((option('documents', 1000) * total(t)) / weight)]));
	for (let round = 0; collections.some((t) => round < wanted[t.uid]); round++) {
		for (const type of collections) if (round < wanted[type.uid]) await create(type);
	}
	for (const type of types.filter((t) => t.kind === 'singleType')) {
		const document = { published: [] };
		await update(type, document, 'en', 'published', { ...fields(type), ...(links(type)) });
		type.documents.push(document);
	}
	for (const type of types) {
		for (const document of type.documents) {
			if (type.kind !== 'singleType') await relate(type, document);
			if (type.pluginOptions?.i18n?.localized) await translate(type, document);
		}
	}
	for (const type of types) for (const document of type.documents) await change(type, document, admin);
	for (const type of collections) {
		const gone = random.sample(type.documents, Math.floor(type.documents.length / 50));
		for (const document of gone) await call('DELETE', route(type, document));
	}
	console.log(JSON.stringify({ seconds: (Date.now() - started) / 1000, documents: Object.fromEntries(types.map((t) => [t.uid, t.documents.length])), users: users.length, files: media.images.length + media.files.length }));
	for (const [why, times] of refused) console.log(`refused ${times}×: ${why}`);
}

await fill();
