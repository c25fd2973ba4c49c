// Blocks as a text that people can compare: Markdown, as far as it goes.
import { isValues } from "../form/value.ts";

// blocksText returns the text of a blocks attribute, with an empty line between blocks.
export function blocksText(value: unknown): string {
  return Array.isArray(value) ? value.map((block) => blockText(block, "")).join("\n\n") : "";
}

function blockText(block: unknown, indent: string): string {
  if (!isValues(block)) return String(block);
  const children = Array.isArray(block.children) ? block.children : [];
  switch (block.type) {
    case "heading":
      return `${"#".repeat(Number(block.level) || 1)} ${inlineText(children)}`;
    case "quote":
      return `> ${inlineText(children)}`;
    case "code":
      return `\`\`\`${typeof block.language === "string" ? block.language : ""}\n${inlineText(children)}\n\`\`\``;
    case "list":
      return children.map((item, i) => itemText(item, block.format === "ordered" ? `${i + 1}.` : "-", indent)).join("\n");
    case "image": {
      const image = isValues(block.image) ? block.image : {};
      return `![${image.alternativeText ?? image.name ?? ""}](${image.url ?? ""})`;
    }
    case "paragraph":
      return inlineText(children);
  }
  return JSON.stringify(block);
}

function itemText(item: unknown, sign: string, indent: string): string {
  if (!isValues(item) || item.type === "list") return blockText(item, `${indent}  `);
  return `${indent}${sign} ${inlineText(Array.isArray(item.children) ? item.children : [])}`;
}

const signs: [string, string][] = [["code", "`"], ["strikethrough", "~~"], ["underline", "__"], ["italic", "*"], ["bold", "**"]];

function inlineText(children: unknown[]): string {
  return children.map((child) => {
    if (!isValues(child)) return String(child);
    if (child.type === "link") return `[${inlineText(Array.isArray(child.children) ? child.children : [])}](${child.url})`;
    if (child.type !== "text") return JSON.stringify(child);
    return signs.reduce((text, [name, sign]) => (child[name] === true && text ? sign + text + sign : text), String(child.text ?? ""));
  }).join("");
}
