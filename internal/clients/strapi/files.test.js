import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { base, holder, visitor } from './client.js';
import { png } from './png.js';

const full = holder('full');
const { files } = full;

const url = (file) => new URL(file.url, base);

/** Uploads a new image for a test. */
const upload = async (filename, fileInfo = undefined) => (await files.upload(png(20, 10), { filename, mimetype: 'image/png', fileInfo }))[0];

describe('upload', () => {
  test('a Buffer', async () => {
    const content = png(300, 200);
    const uploaded = await files.upload(content, {
      filename: 'Grey wall.png',
      mimetype: 'image/png',
      fileInfo: { alternativeText: 'A wall', caption: 'Grey' },
    });
    assert.equal(uploaded.length, 1);
    const [file] = uploaded;
    const { name, ext, mime, width, height, alternativeText, caption, size, provider } = file;
    assert.deepEqual({ name, ext, mime, width, height, alternativeText, caption, size, provider }, {
      name: 'Grey wall.png', ext: '.png', mime: 'image/png', width: 300, height: 200,
      alternativeText: 'A wall', caption: 'Grey', size: Math.round(content.length / 10) / 100, provider: 'local',
    });
    const { thumbnail } = file.formats;
    assert.deepEqual([thumbnail.width, thumbnail.height], [234, 156]);

    const served = await fetch(url(file));
    assert.equal(served.headers.get('content-type'), 'image/png');
    assert.deepEqual(Buffer.from(await served.arrayBuffer()), content);
    assert.equal((await fetch(url(thumbnail))).status, 200);
  });

  test('a Blob', async () => {
    const [file] = await files.upload(new Blob(['a text'], { type: 'text/plain' }), { fileInfo: { name: 'text.txt' } });
    assert.deepEqual([file.name, file.mime, file.width, file.formats], ['text.txt', 'text/plain', null, null]);
    assert.equal(await (await fetch(url(file))).text(), 'a text');
  });

  test('a File', async () => {
    const [file] = await files.upload(new File(['a,b\n1,2\n'], 'table.csv', { type: 'text/csv' }));
    assert.deepEqual([file.name, file.ext, file.mime], ['table.csv', '.csv', 'text/csv']);
  });

  test('more bytes than a file may have', async () => {
    await assert.rejects(files.upload(Buffer.alloc(200_000), { filename: 'large.bin', mimetype: 'application/octet-stream' }), (error) => {
      assert.deepEqual([error.name, error.response.status], ['HTTPError', 413]);
      return true;
    });
  });
});

test('find', async () => {
  await upload('find-b.png', { caption: 'second' });
  await upload('find-a.png', { caption: 'first' });
  const found = await files.find({ filters: { name: { $startsWith: 'find-' } }, sort: 'name:asc' });
  assert.deepEqual(found.map(({ name, caption }) => [name, caption]), [['find-a.png', 'first'], ['find-b.png', 'second']]);
  const sorted = await files.find({ filters: { mime: 'image/png', caption: { $in: ['first', 'second'] } }, sort: ['caption:desc'] });
  assert.deepEqual(sorted.map(({ caption }) => caption), ['second', 'first']);
});

test('findOne, update and delete', async () => {
  const made = await upload('before.png', { alternativeText: 'kept' });
  assert.equal((await files.findOne(made.id)).documentId, made.documentId);

  const changed = await files.update(made.id, { name: 'after.png', caption: 'new' });
  assert.deepEqual([changed.id, changed.name, changed.alternativeText, changed.caption, changed.url],
    [made.id, 'after.png', 'kept', 'new', made.url]);

  assert.equal((await files.delete(made.id)).id, made.id);
  assert.equal((await fetch(url(made))).status, 404);
  await assert.rejects(files.findOne(made.id), { name: 'FileNotFoundError', fileId: made.id });
  await assert.rejects(files.delete(made.id), { name: 'FileNotFoundError', fileId: made.id });
  await assert.rejects(files.update(made.id, { name: 'x' }), { name: 'FileNotFoundError', fileId: made.id });
});

test('files in content', async () => {
  const articles = full.collection('articles');
  const cover = await upload('cover.png');
  const gallery = [await upload('one.png'), await upload('two.png')];
  const populate = { cover: true, gallery: { fields: ['name'] }, seo: { populate: 'image' } };
  const { data } = await articles.create({
    title: 'Pictures',
    cover: cover.id,
    gallery: gallery.map(({ id }) => id),
    seo: { metaTitle: 'Pictures', image: cover.id },
  }, { populate });
  assert.deepEqual([data.cover.url, data.cover.width, data.gallery.map(({ name }) => name), data.seo.image.id],
    [cover.url, 20, ['one.png', 'two.png'], cover.id]);
  assert.equal((await articles.find({ filters: { cover: { name: 'cover.png' } } })).data.length, 1);

  await files.delete(cover.id);
  const { data: after } = await articles.findOne(data.documentId, { populate });
  assert.deepEqual([after.cover, after.gallery.length, after.seo.image], [null, 2, null]);
});

test('who may', async () => {
  const made = await upload('guarded.png');
  const readonly = holder('readonly').files;
  assert.equal((await readonly.findOne(made.id)).name, 'guarded.png');
  await assert.rejects(readonly.delete(made.id), { name: 'FileForbiddenError', fileId: made.id });
  await assert.rejects(readonly.upload(png(1, 1), { filename: 'x.png', mimetype: 'image/png' }), { name: 'FileForbiddenError' });
  await assert.rejects(visitor().files.find(), { name: 'FileForbiddenError' });
});
