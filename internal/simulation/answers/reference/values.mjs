// Valid values for scalar attributes, odd ones among them.

const words = [
	'alpha', 'Alpha', 'beta', 'Beta inn', '100% sure', 'under_score', 'back\\slash', "it's", 'Zed', 'zed', 'élan', 'Élan', 'naïve café', 'say "hi"',
	'null', '日本', '😀 smile', 'delta & co', 'a+b=c', '12', '[x]', '<b>bold</b>', 'tab\there', 'two\nlines', ' pad ', 'ß', 'Ω ω', '\u2028 line', 'e\u0301',
];
const emails = ['a@example.org', 'B.C@Example.org', 'z+9@mail.example.com', 'under_score@x.io'];
const integers = [-3, 0, 1, 2, 3, 5, 7, 12, 20, 35, 99999];
const bigs = ['-9007199254740991', '-12', '0', '1', '7', '12', '4200000000', '9007199254740991'];
const fractions = [-1.5, 0.25, 0.5, 2.75, 12.34, 1000.125, 3, 0, 1e-7, 123456789.125];
const days = ['1969-12-31', '2020-01-05', '2020-02-29', '2024-05-01', '2024-05-02', '2031-11-30'];
const times = ['00:00:00.000', '08:30:00.000', '08:30:00.250', '12:00:01.000', '23:59:59.999'];
const moments = ['1969-12-31T23:59:59.500Z', '2020-01-05T00:00:00.000Z', '2024-05-01T10:20:30.456Z', '2024-05-01T10:20:31.000Z', '2031-11-30T08:00:00.000Z'];
const jsons = [
	{ a: 1, b: [true, null] }, [1, 2, 'plum'], { b: { c: 'Plum' } }, [], {}, { '': 0, 'a.b': { $eq: 1 }, __proto: 'x' }, { deep: [[[[{ x: [] }]]]] }, { big: 12345678901234, small: 1e-9, text: 'Ünïcode 日本 "q" \\ \n' },
];
const text = (value, more = {}) => ({ type: 'text', text: value, ...more });
const blocks = [
	[{ type: 'paragraph', children: [text('alpha')] }],
	[{ type: 'heading', level: 2, children: [text('Beta', { bold: true })] }, { type: 'list', format: 'unordered', children: [{ type: 'list-item', children: [text('é ß 日本')] }] }],
	[{ type: 'quote', children: [text('said'), { type: 'link', url: 'https://example.org/?a=b&c', children: [text('there')] }] }, { type: 'code', children: [text('x < 1 && y')] }],
];

let unique = 0; // appended to values that must differ

// scalar returns a value, or undefined for what is no scalar.
export function scalar(random, attribute) {
	switch (attribute.type) {
		case 'string':
		case 'text':
		case 'richtext':
		case 'password':
			return string(random, attribute);
		case 'uid':
			return `uid-${random.pick(['a', 'B', 'c_d', 'e.f', 'g~h'])}-${++unique}`;
		case 'email':
			return attribute.unique ? `mail${++unique}@example.org` : random.pick(emails);
		case 'enumeration':
			return random.pick(attribute.enum);
		case 'integer':
			return Math.min(Math.max(random.pick(integers), attribute.min ?? -1e9), attribute.max ?? 1e9);
		case 'biginteger':
			return random.pick(bigs);
		case 'float':
		case 'decimal':
			return Math.max(random.pick(fractions), attribute.min ?? -1e9);
		case 'date':
			return random.pick(days);
		case 'time':
			return random.pick(times);
		case 'datetime':
			return random.pick(moments);
		case 'boolean':
			return random.chance(0.5);
		case 'json':
			return random.pick(jsons);
		case 'blocks':
			return random.pick(blocks);
	}
	return undefined;
}

function string(random, attribute) {
	if (attribute.regex) return random.pick(['ABC', 'XYZ', 'QQQ']);
	if (attribute.type === 'password') return random.pick(['secret one', 'Ünlock']);
	let value = random.pick(words);
	if (random.chance(0.3)) value += ' ' + random.pick(words);
	if (attribute.type !== 'string' && random.chance(0.1)) value += ' long'.repeat(20);
	if (attribute.unique) value += ` ${++unique}`;
	if ((attribute.required || attribute.minLength) && value.trim().length < 2) value += ' x';
	return value;
}
