/*
 * Writes down, in order, what a process does to the files of one folder: what it writes where, and what it has flushed.
 * From that record the harness can build the files as they may be found after the power failed at any moment.
 *
 * Preloaded into the process. POWER_FOLDER names the folder, POWER_LOG the record.
 * A record: kind (1 byte), file (4), offset (8), length (4), then `length` bytes. Little endian, as the machine is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { NAME = 'N', WRITE = 'W', TRUNCATE = 'T', SYNC = 'S', REMOVE = 'R' };

#define MAX_FDS 65536
static int file_of[MAX_FDS]; /* 0: not ours */
static char *names[1024];
static int name_count = 0;
static int log_fd = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void put(char kind, uint32_t file, uint64_t offset, const void *data, uint32_t length) {
  unsigned char head[17];
  head[0] = (unsigned char)kind;
  memcpy(head + 1, &file, 4);
  memcpy(head + 5, &offset, 8);
  memcpy(head + 13, &length, 4);
  struct iovec parts[2] = {{head, sizeof head}, {(void *)data, length}};
  if (syscall(SYS_writev, log_fd, parts, length > 0 ? 2 : 1) < 0) abort();
}

static int file_named(const char *path) {
  const char *folder = getenv("POWER_FOLDER");
  const char *log = getenv("POWER_LOG");
  if (!folder || !log || !path || strncmp(path, folder, strlen(folder)) != 0) return 0;
  size_t length = strlen(path);
  /* Shared memory of the running processes: nobody expects it to outlive them. */
  if (length > 4 && strcmp(path + length - 4, "-shm") == 0) return 0;
  if (log_fd < 0) {
    log_fd = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log_fd < 0) abort();
  }
  for (int i = 0; i < name_count; i++)
    if (strcmp(names[i], path) == 0) return i + 1;
  if (name_count == 1024) abort();
  names[name_count++] = strdup(path);
  put(NAME, (uint32_t)name_count, 0, path, (uint32_t)length);
  return name_count;
}

static void opened(int fd, const char *path, int flags) {
  if (fd < 0 || fd >= MAX_FDS) return;
  pthread_mutex_lock(&lock);
  struct stat about;
  int is_file = fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
  file_of[fd] = is_file ? file_named(path) : 0;
  if (file_of[fd] && (flags & O_TRUNC)) put(TRUNCATE, (uint32_t)file_of[fd], 0, "", 0);
  pthread_mutex_unlock(&lock);
}

#define REAL(type, name, ...) \
  static type (*real)(__VA_ARGS__); \
  if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

static int mode_of(int flags, va_list rest) { return (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, int) : 0; }

int open(const char *path, int flags, ...) {
  REAL(int, open, const char *, int, ...);
  va_list rest;
  va_start(rest, flags);
  int fd = real(path, flags, mode_of(flags, rest));
  va_end(rest);
  opened(fd, path, flags);
  return fd;
}

int open64(const char *path, int flags, ...) {
  REAL(int, open64, const char *, int, ...);
  va_list rest;
  va_start(rest, flags);
  int fd = real(path, flags, mode_of(flags, rest));
  va_end(rest);
  opened(fd, path, flags);
  return fd;
}

int close(int fd) {
  REAL(int, close, int);
  if (fd >= 0 && fd < MAX_FDS) file_of[fd] = 0;
  return real(fd);
}

static int ours(int fd) { return fd >= 0 && fd < MAX_FDS ? file_of[fd] : 0; }

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
  REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t);
  if (!ours(fd)) return real(fd, data, size, offset);
  pthread_mutex_lock(&lock);
  ssize_t done = real(fd, data, size, offset);
  if (done > 0) put(WRITE, (uint32_t)ours(fd), (uint64_t)offset, data, (uint32_t)done);
  pthread_mutex_unlock(&lock);
  return done;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) { return pwrite64(fd, data, size, offset); }

ssize_t write(int fd, const void *data, size_t size) {
  REAL(ssize_t, write, int, const void *, size_t);
  if (!ours(fd)) return real(fd, data, size);
  pthread_mutex_lock(&lock);
  ssize_t done = real(fd, data, size);
  /* The position after the write is right for files opened to append, too. */
  if (done > 0) put(WRITE, (uint32_t)ours(fd), (uint64_t)(lseek(fd, 0, SEEK_CUR) - done), data, (uint32_t)done);
  pthread_mutex_unlock(&lock);
  return done;
}

int ftruncate64(int fd, off64_t size) {
  REAL(int, ftruncate64, int, off64_t);
  if (!ours(fd)) return real(fd, size);
  pthread_mutex_lock(&lock);
  int done = real(fd, size);
  if (done == 0) put(TRUNCATE, (uint32_t)ours(fd), (uint64_t)size, "", 0);
  pthread_mutex_unlock(&lock);
  return done;
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

static int synced(int fd, int done) {
  if (ours(fd) && done == 0) {
    pthread_mutex_lock(&lock);
    put(SYNC, (uint32_t)ours(fd), 0, "", 0);
    pthread_mutex_unlock(&lock);
  }
  return done;
}

int fsync(int fd) {
  REAL(int, fsync, int);
  return synced(fd, real(fd));
}

int fdatasync(int fd) {
  REAL(int, fdatasync, int);
  return synced(fd, real(fd));
}

int unlink(const char *path) {
  REAL(int, unlink, const char *);
  pthread_mutex_lock(&lock);
  int file = file_named(path);
  int done = real(path);
  if (file && done == 0) put(REMOVE, (uint32_t)file, 0, "", 0);
  pthread_mutex_unlock(&lock);
  return done;
}
