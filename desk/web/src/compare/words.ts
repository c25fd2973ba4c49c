// The differences between two texts, word by word.
import { diffLines, diffWordsWithSpace } from "diff";

// A Part is a stretch of text that both texts have, or only the one before or the one after. The parts of both and of one
// side are that text.
export interface Part {
  text: string;
  side: "both" | "before" | "after";
}

// Of texts that have little in common, finding the fewest differences takes long, and nobody reads them.
const most = { maxEditLength: 3000, timeout: 300 };

// wordParts compares two texts by words, or by lines if they differ in too many words.
export function wordParts(before: string, after: string): Part[] {
  const parts = diffWordsWithSpace(before, after, most) ?? diffLines(before, after, most);
  if (!parts) return [{ text: before, side: "before" }, { text: after, side: "after" }];
  return parts.map(({ value, added, removed }) => ({ text: value, side: added ? "after" : removed ? "before" : "both" }));
}

const around = 120; // characters of what did not change that are shown beside a change

// folded leaves out what is far from every change: null stands where something is missing.
export function folded(parts: Part[]): (Part | null)[] {
  return parts.flatMap((part, i): (Part | null)[] => {
    if (part.side !== "both" || part.text.length <= 3 * around) return [part];
    const cut = (text: string): Part => ({ text, side: "both" });
    const begin = i === 0 ? [] : [cut(part.text.slice(0, around))];
    const end = i === parts.length - 1 ? [] : [cut(part.text.slice(-around))];
    return [...begin, null, ...end];
  });
}
