# Reads as many pages as `?pages=` says, anywhere in a file that is larger than what may be kept of it
# in memory.
page = 4096

data = File.open(ENV.fetch("BENCH_DATA"), "rb")
# The kernel is not to read on in the hope that it will be asked for that too.
data.advise(:random)
pages = data.size / page

run lambda { |env|
  count = Integer(env["QUERY_STRING"][/\bpages=(\d+)/, 1] || 1)
  sum = count.times.sum { data.pread(page, rand(pages) * page).getbyte(0) }
  [200, { "Content-Type" => "text/plain" }, ["#{sum}\n"]]
}
