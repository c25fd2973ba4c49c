// Package transfer writes all content to a file of JSON Lines, and stores the content of such a file.
//
// An import reads its file twice, and keeps nothing of it in memory that grows with the file. The first reading checks
// each line. What a line says that concerns others becomes records of hashes in Sorters (internal/extsort): the names
// that it claims (versions, ids, unique values, exclusive targets), the localizations that it has and needs, and the
// positions of its links. Sorting brings equal names together, so conflicts show as neighbours. The second reading goes
// document by document, by the offsets of its lines, and stores each with all versions and links in one transaction.
// Types that others link to come first. A document that links to one that does not exist yet waits for a third reading;
// a new one gets its versions at once, an existing one stays as it was until then. If a link leads to a localization
// that an existing document gets only in the third reading, a fourth one adds the link. So every commit is a state in
// which each document is as before or as in the file, some links apart that did not exist before, and no link leads to
// nothing.
package transfer
