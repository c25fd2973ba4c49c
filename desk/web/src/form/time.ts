// Values of dates and times, as the inputs of browsers take them.

// localTime returns a datetime of the API, which is in UTC, as the local time of an input: yyyy-MM-ddTHH:mm:ss.
export function localTime(value: string): string {
  const time = new Date(value);
  if (Number.isNaN(time.getTime())) return "";
  const two = (n: number) => String(n).padStart(2, "0");
  const day = `${String(time.getFullYear()).padStart(4, "0")}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  const milliseconds = time.getMilliseconds();
  const fraction = milliseconds ? `.${String(milliseconds).padStart(3, "0")}` : "";
  return `${day}T${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}${fraction}`;
}

// universalTime returns the datetime for the local time of an input, or null if there is none.
export function universalTime(local: string): string | null {
  const time = new Date(local);
  return local === "" || Number.isNaN(time.getTime()) ? null : time.toISOString();
}

// timeOfDay returns a time of the API as an input takes it: without a fraction of zeros.
export function timeOfDay(value: string): string {
  return value.replace(/\.0+$/, "");
}

// fullTime returns a time of an input, which may be without seconds, as the API takes it.
export function fullTime(input: string): string | null {
  if (input === "") return null;
  return /^\d\d:\d\d$/.test(input) ? `${input}:00` : input;
}
