// Package yamlfile reads configuration files in YAML and JSON, and keeps the file and line of every value.
//
//	node, problems := yamlfile.Read(os.DirFS(dir), "config/server.yaml", os.LookupEnv)
//	if problems == nil {
//		problems = node.Decode(&config)
//	}
//
// References to environment variables (${NAME} and ${NAME:default}) are replaced by their values. The reader reports
// every problem, not just the first, each with its file and line and how to mend it. It limits the memory that a
// hostile file can use.
package yamlfile
