require_relative "../slow_service"

# Makes an answer of 40 MB, keeps it until a service elsewhere has agreed (200 ms), and throws it away.
# So large a piece goes back to the operating system at once.
run lambda { |env|
  size = 0
  if env["PATH_INFO"] == "/export"
    export = "x" * (40 << 20)
    SlowService.wait(0.2)
    size = export.bytesize
    export.clear
  end
  [200, { "Content-Type" => "text/plain" }, ["#{size} bytes\n"]]
}
