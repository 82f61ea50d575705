package doctor

import "syscall"

// freeSpace is the number of bytes that an ordinary user may still write on a folder's disk.
func freeSpace(folder string) (n int64, known bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * s.Bsize, true
}
