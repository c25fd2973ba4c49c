// Files to upload: images large enough for formats and small ones, drawings, documents and plain text.

const extensions = ['png', 'jpg', 'svg', 'pdf', 'txt'];

// files returns count files of all kinds, each with its name, media type and content.
export async function files(random, count, sharp) {
	const list = [];
	for (let n = 0; n < count; n++) {
		const extension = extensions[n % extensions.length];
		const name = random.pick([`file ${n}`, `Ünïcode-${n}`, `photo_${n}`, `a.b ${n}`]) + '.' + extension;
		list.push({ name, ...(await content(random, n, extension, sharp)) });
	}
	return list;
}

async function content(random, n, extension, sharp) {
	switch (extension) {
		case 'png':
		case 'jpg': {
			const width = random.pick([40, 300, 600, 900, 1200]);
			const height = random.pick([30, 200, 500]);
			const color = { r: n % 256, g: (n * 7) % 256, b: (n * 31) % 256 };
			const image = sharp({ create: { width, height, channels: 3, background: color } });
			return extension === 'png' ? { type: 'image/png', content: await image.png().toBuffer() } : { type: 'image/jpeg', content: await image.jpeg().toBuffer() };
		}
		case 'svg':
			return { type: 'image/svg+xml', content: Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="${10 + n}" height="20"><circle cx="5" cy="5" r="${n % 9}"/></svg>`) };
		case 'pdf':
			return { type: 'application/pdf', content: Buffer.from(`%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Count 0/Kids[]>>endobj\n% ${n}\ntrailer<</Root 1 0 R>>\n%%EOF\n`) };
	}
	return { type: 'text/plain', content: Buffer.from(`line ${n}\n`.repeat(1 + (n % 50))) };
}
