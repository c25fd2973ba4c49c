// An Echo tells values that come back to an editor, because it gave them away, from values that come from elsewhere. Those
// that come back may be older than what was typed meanwhile, and must not take its place.
export class Echo<T> {
  #sent: T[] = [];
  #shown: T;

  constructor(shown: T) {
    this.#shown = shown;
  }

  // send notes a value that the editor gives away.
  send(value: T): void {
    this.#sent.push(value);
  }

  // isOwn reports whether a value that comes to the editor is one of its own. It is called once for each that comes.
  isOwn(value: T): boolean {
    const at = this.#sent.lastIndexOf(value);
    if (at >= 0) this.#sent.splice(0, at + 1);
    else if (!Object.is(value, this.#shown)) this.#sent = [];
    const isOwn = at >= 0 || Object.is(value, this.#shown);
    this.#shown = value;
    return isOwn;
  }
}
