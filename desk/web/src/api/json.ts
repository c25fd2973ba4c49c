// Json is any value that the API sends or takes.
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
