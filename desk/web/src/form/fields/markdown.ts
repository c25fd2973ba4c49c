// Markdown as HTML that is safe to show.
import DOMPurify from "dompurify";
import { marked } from "marked";

// markdownHTML returns the HTML of a Markdown text, without anything that could run, load from elsewhere unseen, or
// cover the page.
export function markdownHTML(text: string): string {
  return DOMPurify.sanitize(marked.parse(text, { async: false, gfm: true }), {
    USE_PROFILES: { html: true },
    FORBID_TAGS: ["style", "form", "input", "button", "textarea", "select", "dialog"],
    FORBID_ATTR: ["style", "id", "name", "class"],
  });
}
