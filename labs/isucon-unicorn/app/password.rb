require "openssl"

# How passwords are kept. Far fewer rounds than a real site needs: nobody is to wait for the seed.
module Password
  ROUNDS = 200

  def self.digest(password, salt)
    OpenSSL::PKCS5.pbkdf2_hmac(password, salt, ROUNDS, 32, "SHA256").unpack1("H*")
  end
end
