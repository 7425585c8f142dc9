# Written by sweetspot: gives a shell in the app's container on the first host, by ssh as Kamal has it.
# ROLE DESTINATION COMMAND...: the command prints Kamal's configuration.
role, destination, *command = ARGV
text = IO.popen(command, err: %i[child out], &:read)
abort text unless $?.success?

of = ->(name) { text[/^\s*:#{name}: *["']?([^"'\s]+)/, 1] }
host, version = of.call("primary_host"), of.call("version")
service = of.call("service_with_version").to_s.delete_suffix("-#{version}")
abort "kamal config names no host" unless host && !service.empty?

# A list below a key of the ssh options.
list = ->(name) { text[/^\s*:#{name}:\n((?:\s*- .*\n)+)/, 1].to_s.scan(/- *["']?([^"'\s]+)/).flatten }
ssh = %w[ssh -T -o BatchMode=yes -o StrictHostKeyChecking=accept-new]
ssh += ["-p", of.call("port") || "22"]
ssh += list.call("keys").flat_map { |key| ["-i", key] }
ssh += %w[-o IdentitiesOnly=yes] if of.call("keys_only") == "true"
ssh += ["-F", of.call("config")] if of.call("config").to_s.include?("/")
# A proxy is an object of Ruby's, whose values have no colon before their names. One that is longer
# than a line goes on in the next.
jump = text[/^ *jump_proxies: *["']?([^"'\s]+)/, 1]
proxied = text[/^( *)command_line_template: (.*(?:\n\1 .*)*)/, 2]
proxied = proxied&.gsub(/\n */, " ")&.sub(/\A(["'])(.*)\1\z/, '\2')
ssh += ["-J", jump] if jump
ssh += ["-o", "ProxyCommand=#{proxied}"] if proxied && !jump

filters = ["label=service=#{service}", "label=role=#{role}", "label=destination=#{destination}"]
filters = [*filters, "status=running"].map { |it| "--filter #{it}" }.join(" ")
exec(*ssh, "#{of.call("user") || "root"}@#{host}",
  "docker exec -i \"$(docker ps --quiet --latest #{filters})\" sh")
