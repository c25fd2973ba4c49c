// A link to a place of the desk. It is a plain link, so it opens in another tab as all links do.
import type { AnchorHTMLAttributes, MouseEvent } from "react";
import { go, hrefOf } from "../place.ts";

interface PlaceLinkProps extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, "href"> {
  to: string[];
  query?: URLSearchParams;
}

export function PlaceLink({ to, query, onClick, ...rest }: PlaceLinkProps) {
  const click = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to, query);
  };
  return <a href={hrefOf(to, query)} onClick={click} {...rest} />;
}
