// Where the reader is: the address below the desk, and how to go elsewhere without loading the page anew.
import { useSyncExternalStore } from "react";

const base = new URL(document.baseURI);

export interface Place {
  path: string[]; // the parts of the path below the desk
  query: URLSearchParams;
}

let present = read();
const listeners = new Set<() => void>();

function read(): Place {
  const below = location.pathname.startsWith(base.pathname) ? location.pathname.slice(base.pathname.length) : "";
  return { path: below.split("/").filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(location.search) };
}

function changed(): void {
  present = read();
  for (const listener of listeners) listener();
}

window.addEventListener("popstate", changed);

// place returns the place as it is now.
export const place = (): Place => present;

// usePlace returns the place, and renders again when it changes.
export function usePlace(): Place {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    place,
  );
}

// hrefOf returns the address of a place.
export function hrefOf(path: string[], query?: URLSearchParams): string {
  const search = query?.toString() ?? "";
  return new URL(path.map(encodeURIComponent).join("/") + (search ? `?${search}` : ""), base).href;
}

// go shows a place. With replace the browser's way back leads past the present one.
export function go(path: string[], query?: URLSearchParams, replace = false): void {
  if (replace) history.replaceState(null, "", hrefOf(path, query));
  else history.pushState(null, "", hrefOf(path, query));
  changed();
}
