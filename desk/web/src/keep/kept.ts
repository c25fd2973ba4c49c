// What is typed on this device and not saved, of the desk at this address.
import { Drafts } from "./drafts.ts";

export const drafts = new Drafts(new URL(document.baseURI).pathname);
