// Package values casts and checks the value of one attribute, by the rules of its definition and in the words of
// Strapi. It knows no documents and no store.
package values
