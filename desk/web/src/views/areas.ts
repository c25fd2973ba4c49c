// What the desk has beside content. Each view is a part of its own, loaded when somebody goes there.
import type { ComponentType } from "react";
import type { Access } from "../api/access.ts";
import type { Place } from "../place.ts";
import type { Key } from "../text/text.ts";

export interface AreaProps {
  access: Access;
  place: Place;
}

export interface Area {
  name: string; // first part of its addresses
  title: Key;
  mayUse: (access: Access) => boolean;
  View: ComponentType<AreaProps>;
}

export const areas: Area[] = [];
