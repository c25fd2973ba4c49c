// The editor document for the blocks format: the nodes and marks that the editor can show and change. What the format
// has besides these is held in nodes that are shown but never changed.
import { type Attrs, type DOMOutputSpec, type MarkSpec, type NodeSpec, Schema } from "prosemirror-model";

// source is the JSON that a node was read from, or null if the editor made the node.
const source = { source: { default: null } };

const hidden = { toDOM: (): DOMOutputSpec => ["span", 0] };

const nodes: Record<string, NodeSpec> = {
  doc: { content: "block*" },
  paragraph: { group: "block", content: "inline*", attrs: source, parseDOM: [{ tag: "p" }], toDOM: () => ["p", 0] },
  heading: {
    group: "block",
    content: "inline*",
    defining: true,
    attrs: { level: { default: 1 }, ...source },
    parseDOM: [1, 2, 3, 4, 5, 6].map((level) => ({ tag: `h${level}`, attrs: { level } })),
    toDOM: (node) => [`h${node.attrs.level}`, 0],
  },
  quote: {
    group: "block",
    content: "inline*",
    defining: true,
    attrs: source,
    parseDOM: [{ tag: "blockquote" }],
    toDOM: () => ["blockquote", 0],
  },
  codeBlock: {
    group: "block",
    content: "text*",
    marks: "bold italic underline strikethrough code extra",
    code: true,
    defining: true,
    attrs: { language: { default: null }, ...source },
    parseDOM: [
      {
        tag: "pre",
        preserveWhitespace: "full",
        getAttrs: (dom) => ({ language: dom.getAttribute("data-language") }),
      },
    ],
    toDOM: (node) => [
      "pre",
      node.attrs.language ? { "data-language": node.attrs.language } : {},
      ["code", { spellcheck: "false" }, 0],
    ],
  },
  list: {
    group: "block",
    content: "(listItem | list | unknownBlock)+",
    attrs: { format: { default: "unordered" }, ...source },
    parseDOM: [
      { tag: "ul", attrs: { format: "unordered" } },
      { tag: "ol", attrs: { format: "ordered" } },
    ],
    toDOM: (node) => [node.attrs.format === "ordered" ? "ol" : "ul", 0],
  },
  listItem: { content: "inline*", defining: true, attrs: source, parseDOM: [{ tag: "li" }], toDOM: () => ["li", 0] },
  image: {
    group: "block",
    atom: true,
    draggable: true,
    attrs: source,
    toDOM: () => ["figure", { class: "blocks-image" }],
  },
  unknownBlock: { group: "block", atom: true, attrs: source, toDOM: () => ["div", { class: "blocks-unknown" }] },
  text: { group: "inline" },
  lineBreak: {
    group: "inline",
    inline: true,
    selectable: false,
    linebreakReplacement: true,
    parseDOM: [{ tag: "br" }],
    toDOM: () => ["br"],
    leafText: () => "\n",
  },
  unknownInline: {
    group: "inline",
    inline: true,
    atom: true,
    attrs: source,
    toDOM: () => ["span", { class: "blocks-unknown" }, "…"],
  },
};

function simpleMark(tag: string, others: string[], styles: string[] = []): MarkSpec {
  return {
    parseDOM: [...[tag, ...others].map((t) => ({ tag: t })), ...styles.map((style) => ({ style }))],
    toDOM: () => [tag, 0],
  };
}

const marks: Record<string, MarkSpec> = {
  link: {
    attrs: { url: {}, props: { default: null } },
    inclusive: false,
    excludes: "link",
    parseDOM: [{ tag: "a[href]", getAttrs: (dom) => linkAttrs(dom.getAttribute("href")) }],
    toDOM: (mark) => ["a", { title: mark.attrs.url, class: "blocks-link" }, 0],
  },
  bold: simpleMark("strong", ["b"], ["font-weight=bold"]),
  italic: simpleMark("em", ["i"], ["font-style=italic"]),
  underline: simpleMark("u", [], ["text-decoration=underline"]),
  strikethrough: simpleMark("s", ["del", "strike"], ["text-decoration=line-through"]),
  code: simpleMark("code", []),
  extra: { attrs: { props: {} }, ...hidden },
};

// isLinkURL reports whether the API takes a text as the url of a link.
export function isLinkURL(text: string): boolean {
  if (text.startsWith("/")) return true;
  const [, scheme, rest] = /^\s*([a-z]+):(.*)$/is.exec(text) ?? [];
  switch (scheme?.toLowerCase()) {
    case "mailto":
    case "tel":
      return true;
    case "http":
    case "https":
    case "ftp":
      return URL.canParse("http://" + rest!.replace(/^[/\\]+/, ""));
  }
  return false;
}

function linkAttrs(href: string | null): Attrs | false {
  return href && isLinkURL(href) ? { url: href } : false;
}

export const schema = new Schema({ nodes, marks });

// textMarks are the marks of a text that the format has keys for.
export const textMarks = ["bold", "italic", "underline", "strikethrough", "code"] as const;
export type TextMark = (typeof textMarks)[number];
