import { StyleModule } from "style-mod";

// adoptStyles lets CodeMirror set its styles by a sheet that script makes, not by a style element, which the policy of
// the page forbids. It does so for roots without a head; the place where it keeps the sheet of a root is then given to
// the document.
export function adoptStyles() {
  const root = {
    ownerDocument: document,
    get adoptedStyleSheets() {
      return document.adoptedStyleSheets;
    },
    set adoptedStyleSheets(sheets) {
      document.adoptedStyleSheets = sheets;
    },
  };
  StyleModule.mount(root as unknown as ShadowRoot, new StyleModule({}));
  for (const key of Object.getOwnPropertySymbols(root)) {
    Object.defineProperty(document, key, { value: (root as never)[key], configurable: true });
  }
}
