// Makes a uid of a text, as the server does for uids that it generates: the same letters, words and cut.
import letters from "../../../../internal/slug/letters.txt?raw";

const replacements = new Map(
  letters
    .split("\n")
    .flatMap((line): [string, string][] => {
      const at = line.indexOf("=");
      return line.startsWith("#") || at <= 0 ? [] : [[line.slice(0, at), line.slice(at + 1)]];
    })
    .reverse(),
);

const longest = Math.max(...[...replacements.keys()].map((from) => from.length));

function replaced(text: string): string {
  let out = "";
  for (let i = 0; i < text.length;) {
    let length = Math.min(longest, text.length - i);
    while (length > 0 && !replacements.has(text.slice(i, i + length))) length--;
    out += length > 0 ? replacements.get(text.slice(i, i + length)) : text[i];
    i += Math.max(1, length);
  }
  return out;
}

// slugOf returns the slug of a text: words of a-z and 0-9 with hyphens between them, at most as long as most.
export function slugOf(text: string, most = 120): string {
  const words =
    replaced(text.normalize("NFC"))
      .normalize("NFD")
      .replace(/\p{Mn}/gu, "")
      .replace(/([A-Z]{2,})([0-9]+)/g, "$1 $2")
      .replace(/([a-z0-9]+)([A-Z]{2,})/g, "$1 $2")
      .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
      .replace(/([A-Z]+)([A-Z][a-z0-9]+)/g, "$1 $2")
      .match(/[a-zA-Z0-9]+/g) ?? [];
  return cut(words.join("-").toLowerCase(), most);
}

// cut drops words from the end, or the end of the word if there is only one.
export function cut(slug: string, most: number): string {
  if (slug.length <= most) return slug;
  const at = slug.slice(0, most + 1).lastIndexOf("-");
  return at > 0 ? slug.slice(0, at) : slug.slice(0, most);
}

// numbered returns a slug, and those that follow if it is taken: slug-1, slug-2 and so on.
export function numbered(slug: string, n: number, most = 120): string {
  return n === 0 ? slug : `${cut(slug, Math.max(1, most - `-${n}`.length))}-${n}`;
}
