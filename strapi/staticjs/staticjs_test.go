package staticjs_test

import (
	"fmt"
	"strings"
	"testing"

	"lectern/internal/yamlfile"
	"lectern/strapi/staticjs"
)

func TestRead(t *testing.T) {
	for _, tc := range []struct{ name, file, source, want, unread string }{
		{name: "an object", source: `module.exports = {a: 1, 'b-c': [true, null, 'x', -2.5, 0x10], "d": {e: 1_000}};`,
			want: `{a: 1, b-c: [true, null, x, -2.5, 16], d: {e: 1000}}`},
		{name: "a function of env",
			source: `module.exports = ({ env }) => ({host: env('HOST', '0.0.0.0'), port: env.int('PORT', 1337), on: env.bool('ON', true), key: env('KEY')});`,
			want:   `{host: "${HOST:0.0.0.0}", port: "${PORT:1337}", on: "${ON:true}", key: "${KEY}"}`},
		{name: "a module", source: "import path from 'path';\nconst config = ({ env: e }) => {\n  const host = e('HOST', 'x');\n  return { host, url: `https://${host}/a` };\n};\nexport default config;",
			want: `{host: "${HOST:x}", url: "https://${HOST:x}/a"}`},
		{name: "a context", source: `module.exports = function (ctx) { 'use strict'; return { a: ctx.env('A'), b: process.env.B, c: process.env.C || 'c', d: process.env.D ?? 4 } }`,
			want: `{a: "${A}", b: "${B}", c: "${C:c}", d: "${D:4}"}`},
		{name: "spreads", source: `const base = {a: 1, b: {c: 2}}; const list = [1, 2]; module.exports = {...base, a: 3, list: [...list, 4], m: base.b.c, n: base['b']}`,
			want: `{a: 3, b: {c: 2}, list: [1, 2, 4], m: 2, n: {c: 2}}`},
		{name: "arithmetic",
			source: `module.exports = {size: 256 * 1024 * 1024, half: 1 / 2, text: 'a' + 'b', n: 'v' + 1, not: !true, pick: true ? 1 : 2, pow: 2 ** 3}`,
			want:   `{size: 268435456, half: 0.5, text: ab, n: v1, not: false, pick: 1, pow: 8}`},
		{name: "texts that look like references",
			source: "module.exports = {a: '${HOST}', b: `\\${X}`, c: 'it\\'s\\n\\u00e9'}",
			want:   `{a: "$${HOST}", b: "$${X}", c: "it's\né"}`},
		{name: "code", source: `module.exports = ({ env }) => ({a: require('./x'), b: {c: path.join('a'), d: 1}, e: env('X') === 'y' ? 1 : 2, f: [1, g(), 2], ...more, h() { return 1 }, i: env.json('J'), j: undefined, k: env.array('K', ['a'])})`,
			want:   `{b: {d: 1}, f: [1, 2], k: [a]}`,
			unread: "a=require('./x') b.c=path.join('a') e=env('X') === 'y' ? 1 : 2 f.1=g() ...=more h=h () { return 1; } i=env.json('J') k=the variable K, whose default is used"},
		{name: "a list", source: `module.exports = ['strapi::errors', {name: 'strapi::cors', config: {origin: ['a']}}]`,
			want: `["strapi::errors", {name: "strapi::cors", config: {origin: [a]}}]`},
		{name: "guards", source: `module.exports = ({ env }) => { const a = env('A', 1); if (!a) { console.warn('no a'); throw new Error('a') } else console.log(a); return {a} }`,
			want: `{a: "${A:1}"}`},
		{name: "a default with a brace",
			source: `module.exports = ({env}) => ({a: env('A', '{x}'), b: env('B', env('C', 'd'))})`,
			want:   `{}`, unread: "a=env('A', '{x}') b=env('B', env('C', 'd'))"},
		{name: "a constant of itself", source: `const a = a; const b = {b}; module.exports = {a, c: b}`, want: "",
			unread: "-"},
		{name: "typescript", file: "server.ts", source: `import type { Core } from '@strapi/strapi'
import { x, type Y } from "./y";
interface Options { a: string; b?: { c: number }[] }
type Env = 'a' | 'b'
const sizes: Record<string, number> = { large: 1 };
const config = ({ env }: Core.Config.Shared.ConfigParams): Core.Config.Server => ({
  host: env('HOST', '0.0.0.0') as string,
  secret: process.env.SECRET!,
  re: { a: 'x:y', b: /[/'"]:/ },
  sizes,
  list: ['a', 'b'] as const,
} satisfies Options);

export default config;`,
			want:   `{host: "${HOST:0.0.0.0}", secret: "${SECRET}", re: {a: "x:y"}, sizes: {large: 1}, list: [a, b]}`,
			unread: `re.b=/[/'"]:/`},
		{name: "typescript function", file: "plugins.ts",
			source: `export default function (ctx: { env: any }, b?: Map<string, Array<number>>): Record<string, unknown> { const { env } = ctx; return { a: 1 } }`,
			want:   `{a: 1}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := tc.file
			if file == "" {
				file = "config.js"
			}
			n, unread, err := staticjs.Read(file, []byte(tc.source))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, u := range unread {
				got = append(got, u.Path+"="+u.Code)
			}
			if tc.unread == "-" {
				if len(unread) == 0 {
					t.Error("nothing is unread")
				}
				return
			}
			if flow := yamlfile.Flow(n); flow != tc.want && normalise(flow) != normalise(tc.want) {
				t.Errorf("read %s\nwant %s", flow, tc.want)
			}
			if strings.Join(got, " ") != tc.unread {
				t.Errorf("unread %s\nwant   %s", strings.Join(got, " "), tc.unread)
			}
		})
	}
}

// normalise undoes the quotes of values that read the same without them.
func normalise(flow string) string {
	n, _ := yamlfile.Parse("a.yaml", []byte(flow), nil)
	return yamlfile.Flow(n)
}

func TestReadErrors(t *testing.T) {
	for name, source := range map[string]string{
		"the file cannot be parsed: ":   `module.exports = {`,
		"the file exports nothing that": `console.log(1)`,
		"the file exports f(), which":   `module.exports = f()`,
		"the file exports config, ":     `const config = ({env}) => { if (env('A')) { return {} } return {a: 1} }; module.exports = config`,
		"the file makes more than 5":    "const a0 = [1, 1];" + doubling(20) + "module.exports = a20",
		"the file is larger than 512 K": strings.Repeat(" ", 600<<10),
	} {
		if _, _, err := staticjs.Read("a.js", []byte(source)); err == nil || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("error %v, want %s…", err, name)
		}
	}
}

// doubling returns constants that hold each other twice.
func doubling(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "const a%d = [a%d, a%d];", i+1, i, i)
	}
	return b.String()
}

// FuzzRead reads any text as JavaScript and as TypeScript. The value must be one that can be printed and read back.
func FuzzRead(f *testing.F) {
	f.Add("module.exports = ({ env }) => ({a: env('A', 1), b: [`x${1}`, ...c], d() {}});")
	f.Add("import type { A } from 'b';\nconst c = ({ env }: A): B<C[]> => ({ d: e as F, g: h! });\nexport default c;")
	f.Add("const a: { b: (c) => d } | typeof e = /[/]/, f = <g>h; type i = j\nexport default a satisfies k")
	f.Add("module.exports=({0:[`\xdc`]})")
	f.Fuzz(func(t *testing.T, source string) {
		for _, file := range []string{"a.js", "a.ts"} {
			n, _, err := staticjs.Read(file, []byte(source))
			if err != nil || n.Kind != yamlfile.Map || len(n.Entries) == 0 {
				continue
			}
			back, problems := yamlfile.Parse("a.yaml", yamlfile.Print(n), nil)
			if problems == nil && yamlfile.Flow(back) != yamlfile.Flow(n) {
				t.Errorf("read %s\nback %s", yamlfile.Flow(n), yamlfile.Flow(back))
			}
		}
	})
}
