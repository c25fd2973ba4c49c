// Edits of a relation to many, whose links are read by pages and never as a whole. An edit says what to connect, each
// at its place, and what to disconnect, as a body of the API does.

// A Link is a document that a relation leads to, with what a list shows of it.
export interface Link {
  documentId: string;
  // type is the target of a polymorphic relation.
  type?: string;
  label: string;
  status?: string;
}

export type Position = { start: true } | { end: true } | { after: string };

export interface Connect extends Link {
  position: Position;
}

export interface LinkEdit {
  connect: Connect[];
  disconnect: Link[];
}

export const noEdit: LinkEdit = { connect: [], disconnect: [] };

export function isNoEdit(edit: LinkEdit): boolean {
  return edit.connect.length === 0 && edit.disconnect.length === 0;
}

// Links names documents by type and id, since only both together are unique in a polymorphic relation.
const keyOf = (link: Link) => `${link.type ?? ""} ${link.documentId}`;
const same = (a: Link, b: Link) => keyOf(a) === keyOf(b);

// linksAfter returns what a list shows after an edit: the links of the pages read so far, in their new order, and those
// added. What has its place after a link that was not read yet is last.
export function linksAfter(read: Link[], edit: LinkEdit): Link[] {
  const moved = new Set([...edit.connect, ...edit.disconnect].map(keyOf));
  const list = read.filter((link) => !moved.has(keyOf(link)));
  for (const { position, ...link } of edit.connect) {
    if ("start" in position) list.unshift(link);
    else if ("end" in position) list.push(link);
    else {
      const at = list.findIndex((other) => other.documentId === position.after);
      list.splice(at < 0 ? list.length : at + 1, 0, link);
    }
  }
  return list;
}

// addLink adds a link at the end. One that was removed gets its place back.
export function addLink(read: Link[], edit: LinkEdit, link: Link): LinkEdit {
  if (linksAfter(read, edit).some((other) => same(other, link))) return edit;
  const disconnect = edit.disconnect.filter((other) => !same(other, link));
  if (read.some((other) => same(other, link)))
    return placed(linksAfter(read, { ...edit, disconnect }), { ...edit, disconnect });
  return { connect: [...edit.connect, { ...link, position: { end: true } }], disconnect };
}

// removeLink removes a link. Those that had their place after it get the place before it.
export function removeLink(read: Link[], edit: LinkEdit, link: Link): LinkEdit {
  const before = linksAfter(read, edit);
  const connect = edit.connect.filter((other) => !same(other, link));
  const disconnect =
    read.some((other) => same(other, link)) || connect.length === edit.connect.length
      ? [...edit.disconnect.filter((other) => !same(other, link)), link]
      : edit.disconnect;
  return placed(
    before.filter((other) => !same(other, link)),
    { connect, disconnect },
  );
}

// moveLink moves a link to an index of the list that linksAfter returns.
export function moveLink(read: Link[], edit: LinkEdit, link: Link, to: number): LinkEdit {
  const list = linksAfter(read, edit).filter((other) => !same(other, link));
  list.splice(to, 0, link);
  const connect = edit.connect.some((other) => same(other, link))
    ? edit.connect.map((other) => (same(other, link) ? { ...other, position: { start: true } as Position } : other))
    : [...edit.connect, { ...link, position: { start: true } as Position }];
  return placed(list, { ...edit, connect });
}

// placed gives each connected link the place that it has in a list: after the one before it. They are in the order of
// the list, so each names one that has its place already. Those that were added at the end stay there, so that they
// also follow the links that were not read.
function placed(list: Link[], edit: LinkEdit): LinkEdit {
  const connected = new Map(edit.connect.map((link) => [keyOf(link), link]));
  const last = list.findLastIndex((link) => {
    const own = connected.get(keyOf(link));
    return !own || !("end" in own.position);
  });
  const connect = list.flatMap((link, i): Connect[] => {
    if (!connected.has(keyOf(link))) return [];
    if (i > last) return [{ ...link, position: { end: true } }];
    return [{ ...link, position: i === 0 ? { start: true } : { after: list[i - 1]!.documentId } }];
  });
  return { ...edit, connect };
}

// bodyOfEdit returns the value of the relation in the body of a write.
export function bodyOfEdit(edit: LinkEdit) {
  const reference = ({ documentId, type }: Link) => ({ documentId, ...(type ? { __type: type } : {}) });
  return {
    ...(edit.connect.length > 0
      ? { connect: edit.connect.map((link) => ({ ...reference(link), position: link.position })) }
      : {}),
    ...(edit.disconnect.length > 0 ? { disconnect: edit.disconnect.map(reference) } : {}),
  };
}
