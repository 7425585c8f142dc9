# Makes the file that is read, of so many MiB, unless it is there, and has the kernel forget what it
# kept of it in memory.
#
# Usage: ruby make.rb FILE MIB
path, mebibytes = ARGV
piece = 1 << 20
random = Random.new(1)
File.open(path, File::RDWR | File::CREAT | File::BINARY) do |file|
  file.seek(0, IO::SEEK_END)
  file.write(random.bytes(piece)) while file.size < Integer(mebibytes) * piece
  file.fsync
  file.advise(:dontneed)
end
