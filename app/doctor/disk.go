package doctor

import (
	"os"
	"path/filepath"

	"punctual/app/config"
)

const (
	littleSpace = 1 << 30
	noSpace     = 100 << 20
)

// examineDisk looks at the folders into which this process writes.
func examineDisk(c *config.Config) []Finding {
	var folders []string
	if sqlite(c.Database.URL) {
		folders = append(folders, filepath.Dir(sqliteFile(c.Database.URL)))
	}
	if outbox := filepath.Join("data", "outbox"); c.Email.Driver == "outbox" || c.SMS.Driver == "outbox" {
		folders = append(folders, outbox)
	}
	if folders == nil {
		return ok("this process writes no files")
	}
	var found []Finding
	for _, folder := range folders {
		if _, err := os.Stat(folder); err != nil {
			continue // made at the first start
		}
		if !writable(folder) {
			found = append(found, failure("Give the user that runs punctual write access to the folder.", "%s is not writable", folder)...)
			continue
		}
		if free, known := freeSpace(folder); known {
			found = append(found, judgeSpace(folder, free)...)
		}
	}
	if found == nil {
		return ok("no folder exists yet")
	}
	return found
}

func judgeSpace(folder string, free int64) []Finding {
	const advice = "Free some space, or move the folder to a larger disk."
	switch {
	case free < noSpace:
		return failure(advice, "only %s are free for %s", bytes(free), folder)
	case free < littleSpace:
		return warning(advice, "only %s are free for %s", bytes(free), folder)
	default:
		return ok("%s free for %s", bytes(free), folder)
	}
}

func writable(folder string) bool {
	f, err := os.CreateTemp(folder, ".punctual-doctor-*")
	if err != nil {
		return false
	}
	f.Close()
	return os.Remove(f.Name()) == nil
}
