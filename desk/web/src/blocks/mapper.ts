// Maps the value of a blocks attribute to an editor document and back. What the editor does not know is kept: unknown
// nodes as atoms, unknown properties with their node or text. A node whose content is as it was read is written as the
// JSON that it was read from, so a document that nobody edited is equal to its value.
import { Fragment, type Mark, type Node } from "prosemirror-model";
import { schema, textMarks } from "./schema.ts";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

const { nodes, marks } = schema;

// The properties of each type of node that the editor writes itself.
const ownKeys: Record<string, string[]> = {
  paragraph: ["type", "children"],
  heading: ["type", "level", "children"],
  quote: ["type", "children"],
  code: ["type", "language", "children"],
  list: ["type", "format", "children"],
  "list-item": ["type", "children"],
};

// The type in the format of each node of the editor that has children.
const formatTypes: Record<string, string> = {
  paragraph: "paragraph",
  heading: "heading",
  quote: "quote",
  codeBlock: "code",
  list: "list",
  listItem: "list-item",
};

// toDocument returns the editor document for a value, which is an array of blocks, or null for none.
export function toDocument(value: Json | undefined): Node {
  return nodes.doc!.create(null, Array.isArray(value) ? value.map(readBlock) : []);
}

// toBlocks returns the blocks of an editor document.
export function toBlocks(doc: Node): Json[] {
  return doc.children.map(writeBlock);
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// read has the editor node of each JSON node, so that an unchanged node is found at once.
const read = new WeakMap<JsonObject, Node>();

function readBlock(json: Json): Node {
  if (!isObject(json)) return nodes.unknownBlock!.create({ source: { json } });
  let node = read.get(json);
  if (!node) {
    node = readKnown(json) ?? nodes.unknownBlock!.create({ source: { json } });
    read.set(json, node);
  }
  return node;
}

function readKnown(json: JsonObject): Node | null {
  const children = json.children;
  if (json.type === "image") return isObject(json.image) ? nodes.image!.create({ source: json }) : null;
  if (!Array.isArray(children)) return null;
  switch (json.type) {
    case "paragraph":
    case "quote":
      return nodes[json.type]!.create({ source: json }, readInlines(children));
    case "heading": {
      const level = json.level;
      if (typeof level !== "number" || !Number.isInteger(level) || level < 1 || level > 6) return null;
      return nodes.heading!.create({ level, source: json }, readInlines(children));
    }
    case "code": {
      const { language = null } = json;
      if ("language" in json && typeof language !== "string") return null;
      const texts = readCode(children);
      return texts && nodes.codeBlock!.create({ language, source: json }, texts);
    }
    case "list":
      if (json.format !== "ordered" && json.format !== "unordered") return null;
      if (children.length === 0) return null;
      return nodes.list!.create({ format: json.format, source: json }, children.map(readItem));
  }
  return null;
}

function readItem(json: Json): Node {
  if (!isObject(json)) return readBlock(json);
  if (json.type === "list") return readBlock(json);
  if (json.type !== "list-item" || !Array.isArray(json.children)) {
    return nodes.unknownBlock!.create({ source: { json } });
  }
  let node = read.get(json);
  if (!node) {
    node = nodes.listItem!.create({ source: json }, readInlines(json.children));
    read.set(json, node);
  }
  return node;
}

function readInlines(children: Json[]): Fragment {
  return Fragment.fromArray(children.flatMap((child) => readInline(child) ?? unknownInline(child)));
}

function unknownInline(json: Json): Node[] {
  return [nodes.unknownInline!.create({ source: { json } })];
}

// readInline returns the editor nodes of a text or a link, or null if the editor cannot show it.
function readInline(json: Json): Node[] | null {
  if (!isObject(json)) return null;
  if (json.type === "text") return readText(json);
  if (json.type !== "link" || typeof json.url !== "string" || !Array.isArray(json.children)) return null;
  const link = marks.link!.create({ url: json.url, props: others(json, ["type", "url", "children"]) });
  const texts: Node[] = [];
  for (const child of json.children) {
    const text = isObject(child) && child.type === "text" ? readText(child) : null;
    if (!text) return null;
    texts.push(...text.map((node) => node.mark(link.addToSet(node.marks))));
  }
  return texts.length > 0 ? texts : null;
}

// readText returns the editor nodes of a text: none for an empty one, several if it has line breaks.
function readText(json: JsonObject): Node[] | null {
  if (typeof json.text !== "string") return null;
  const set = readMarks(json);
  if (json.text === "") return set.some((mark) => mark.type === marks.extra) ? null : [];
  const parts: Node[] = [];
  json.text.split("\n").forEach((line, i) => {
    if (i > 0) parts.push(nodes.lineBreak!.create(null, null, set));
    if (line !== "") parts.push(schema.text(line, set));
  });
  return parts;
}

function readMarks(json: JsonObject): readonly Mark[] {
  const on = textMarks.filter((name) => json[name] === true);
  const props = others(json, ["type", "text", ...on]);
  const set = on.map((name) => marks[name]!.create());
  if (props) set.push(marks.extra!.create({ props }));
  return set.reduce((all, mark) => mark.addToSet(all), schema.text(" ").marks);
}

// readCode returns the texts of a code block, or null if it has anything else.
function readCode(children: Json[]): Fragment | null {
  const texts: Node[] = [];
  for (const child of children) {
    if (!isObject(child) || child.type !== "text" || typeof child.text !== "string") return null;
    const set = readMarks(child);
    if (child.text !== "") texts.push(schema.text(child.text, set));
    else if (set.some((mark) => mark.type === marks.extra)) return null;
  }
  return Fragment.fromArray(texts);
}

// others returns the properties of an object that are not among keys, or null if there are none.
function others(json: JsonObject, keys: readonly string[]): JsonObject | null {
  const rest = Object.entries(json).filter(([key]) => !keys.includes(key));
  return rest.length > 0 ? Object.fromEntries(rest) : null;
}

// written has the JSON of each node that was written, so that a change costs no more than the blocks that it changes.
const written = new WeakMap<Node, Json>();

function writeBlock(node: Node): Json {
  let json = written.get(node);
  if (json === undefined) {
    json = writeNode(node);
    written.set(node, json);
  }
  return json;
}

function writeNode(node: Node): Json {
  const source = node.attrs.source as JsonObject | null;
  if (node.type === nodes.unknownBlock) return source!.json!;
  if (node.type === nodes.image) return source!;
  if (source && isAsRead(node, source)) return source;
  const type = formatTypes[node.type.name]!;
  const out: JsonObject = { ...kept(source, type), type };
  if (node.type === nodes.heading) out.level = node.attrs.level;
  if (node.type === nodes.list) out.format = node.attrs.format;
  if (node.type === nodes.codeBlock && node.attrs.language !== null) out.language = node.attrs.language;
  out.children = node.type === nodes.list ? node.children.map(writeBlock) : writeInlines(node);
  return out;
}

// isAsRead reports whether a node is what its source is read as.
function isAsRead(node: Node, source: JsonObject): boolean {
  return read.get(source)?.eq(node) ?? false;
}

// kept returns the properties of a source that a node of a type keeps: those that the editor does not write itself.
function kept(source: JsonObject | null, type: string): JsonObject | null {
  if (!source) return null;
  const own = ownKeys[source.type as string] ?? [];
  return others(source, [...own, ...ownKeys[type]!]);
}

function writeInlines(parent: Node): Json[] {
  const out: Json[] = [];
  let link: Mark | undefined;
  let into = out;
  let last: Node | null = null;
  parent.forEach((node) => {
    if (node.type === nodes.unknownInline) {
      out.push((node.attrs.source as JsonObject).json!);
      link = undefined;
      into = out;
      last = null;
      return;
    }
    const own = node.marks.find((mark) => mark.type === marks.link);
    if (own ? !link?.eq(own) : link) {
      link = own;
      into = out;
      last = null;
      if (own) {
        into = [];
        out.push({ ...own.attrs.props, type: "link", url: own.attrs.url, children: into });
      }
    }
    const text = node.isText ? node.text! : "\n";
    if (last && sameMarks(last, node)) {
      (into[into.length - 1] as JsonObject).text += text;
    } else {
      into.push(writeText(node, text));
    }
    last = node;
  });
  if (out.length === 0) out.push({ type: "text", text: "" });
  return out;
}

function sameMarks(a: Node, b: Node): boolean {
  return a.marks.length === b.marks.length && a.marks.every((mark, i) => mark.eq(b.marks[i]!));
}

function writeText(node: Node, text: string): JsonObject {
  const out: JsonObject = { ...node.marks.find((mark) => mark.type === marks.extra)?.attrs.props, type: "text", text };
  for (const mark of node.marks) {
    if ((textMarks as readonly string[]).includes(mark.type.name)) out[mark.type.name] = true;
  }
  return out;
}
