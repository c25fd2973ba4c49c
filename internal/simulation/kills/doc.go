// Package kills kills the program at random moments while clients write to it: the server, commands, continuous
// backups, schedules and webhooks. What was acknowledged must be there after the next start, once.
package kills
