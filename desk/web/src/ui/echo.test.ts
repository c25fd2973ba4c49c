import { expect, test } from "vitest";
import { Echo } from "./echo.ts";

test("what was typed while a value comes back stays", () => {
  const echo = new Echo("");
  echo.send("a");
  echo.send("ab");
  expect(echo.isOwn("a")).toBe(true);
  echo.send("abc");
  expect(echo.isOwn("abc")).toBe(true); // ab came together with abc
  expect(echo.isOwn("abc")).toBe(true); // nothing changed
  expect(echo.isOwn("restored")).toBe(false);
  expect(echo.isOwn("ab")).toBe(false); // an old value that is restored is not the editor's own
});
