/** What `lectern serve --ephemeral` prints: the server's address and API tokens by name. clients_test.go has started it. */
export const { base, tokens } = JSON.parse(process.env.LECTERN);
