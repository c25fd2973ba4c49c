// Package replicas has a test of the complete program that kills replicas and cuts them off from their origin.
package replicas
